"""What a model may do: rules that allow, ask or deny, and the person who is asked."""
