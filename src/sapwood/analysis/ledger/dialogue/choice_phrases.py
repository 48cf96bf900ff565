"""The phrases by which people state choices: what to use, keep, set or leave out."""

from sapwood.analysis.language.phrases import Phrases

_LISTS = {
    # Verbs that ask for the next work; 'let's' with any other verb is a choice.
    "work": "see look have take continue start begin get talk discuss try run test check fix wait "
    "finish write add commit push review merge deploy debug find first be need proceed think hope "
    "tackle clean document investigate figure come meet say tell ask read open update create "
    "implement build release rebase verify explore focus hand raise send let pause wrap stop go "
    "move pick do just also then rather better please all call",
    "chosen": "use keep stick stay switch drop skip avoid leave store take postpone defer migrate "
    "not never only",
    "forbidden": "use touch add delete remove change introduce create store log break allow "
    "support rename mock commit push hardcode hard-code expose cache retry write build ship run "
    "overwrite modify drop call import",
    "quality": "configurable optional opt-in opt-out async lazy immutable private public required "
    "nullable idempotent read-only case-insensitive strict",
    "trouble": "idea problem problems issue issues error errors worries worry change changes "
    "difference luck output result results response clue",
    "no_noun": "idea problem problems issue issues error errors worries worry change changes "
    "difference luck output result results response clue way wonder longer need one wait honestly "
    "actually really thanks thank please it that this i we you they not no sorry matter further "
    "don't just but more doubt rush hurry tests test",
    "not_value": "now yet sure really bad only just telling even so too working today "
    "tomorrow much that if because necessarily enough my our again the a",
    "start_verbs": "know think see understand worry forget get have mind care like need want "
    "remember trust be believe mean feel really you",
    "it": "it them this that",
}
CHOICE = Phrases(
    """
    let's|lets just|also|then|rather|better|please|all* !@work
    let's|lets just|also|then|rather|better|please|all* go with|for|back|to
    let's|lets just|also|then|rather|better|please|all* move to|away
    let's|lets just|also|then|rather|better|please|all* take the|option
    let's|lets just|also|then|rather|better|please|all* call @it|the
    let's|lets just|also|then|rather|better|please|all* do option|variant|plan|a|b|c|d
    let's|lets just|also|then|rather|better|please|all* do @it with|in|via|as|by|the
    let's|lets just|also|then|rather|better|please|all* do !@it|so|some|an|the|another|more|one
    let's|lets|we'll build|create|deploy|implement|release|test|write @it? with|via|using|through|in
    we'll just|rather* !@work
    we'll just|rather* do !@it
    we'll just|rather* go with|for|back
    we'll just|rather* move to|away
    we will just|rather* !@work
    we're|are going to just|rather* !@work
    we won't _
    we will not _
    i'll just|rather* @chosen
    i'll just|rather* go with|for|back
    i'll live without
    i|we will|should @chosen
    i|we should|need|have|want to just|then|rather|really* @chosen
    we should just|then|rather|really* @chosen
    we go with|for
    we settle|stick|stay|target
    we only support|use|need
    we'd better
    we|i|i've|we've decided|agreed|settled
    we|i have decided|agreed|settled
    decided|decision|verdict|conclusion :
    final answer :
    from now on
    going|went with
    opted|opting for
    stick|sticking with|to
    change|changed my mind
    on second thought|thoughts
    scratch that
    i rather|prefer
    i'd rather|prefer
    i would rather|prefer
    i|we want @it|these|those to be|stay|use|work
    i|we want the _ to be|stay|use|work
    i'd like @it|these|those to be|stay|use
    i'd like the _ to be|stay|use
    i'd like ... not
    i don't want
    i do not want
    we don't want|need|use|support
    we do not want|need|use|support
    don't think we want|need|use|support|should
    no need for|to
    !they|people|percent|users|teachers|customers don't|never ever? @forbidden
    we|you|must|should don't|never ever? @forbidden
    do not ever? @forbidden
    don't|never bother|rely|depend with|on
    it is $
    is|are good|more? than? enough|fine|sufficient|ok|okay|overkill
    stay|stays on|off|in|as|private|public|where|out|optional
    stay|stays the same
    instead of
    instead $
    rather than
    switch|move|go back? to !the
    switch|move|go back? to the !next|other|docs|rest
    revert to
    going|goes back to
    we're|are _* only
    can live without
    must not|never|always|only|stay|remain|be
    has|have|need|needs to stay|remain|be|work|support|survive|fit
    belong|belongs in|on|to|under|beside
    should live|stay|sit in|on|under|beside
    minimum|maximum|default _* is|are|stays|stay
    minimum|maximum|default _* should be
    i|we think !it _* should !work|be
    i|we think !it _* should be !fixed
    so _ _? _? go|goes|get|gets|live|lives|stay|stays in|into|to|on|with
    is|are out $
    !all|thanks|that's|done|bye|off|stop|it for now
    !all|thanks|that's|done|bye|off|stop|it for the moment|time
    i'd|would say !so|that's|it's|it|that
    is|are plenty|mandatory|required
    i|we want it|them|this|that to just|only
    we're|are not building|using|adding|supporting|writing|changing|doing|touching
    it|that|this|they stays|stay $
    stays _* til|till|until
    as the? default
    it|they|that should work|be|run|go without|offline|only
    , and? not !@not_value _? _? $
    """,
    _LISTS,
)
IMPERATIVE = Phrases(
    """
    use|stick|switch|skip|drop|ditch|scrap|avoid|pin|prefer|store|limit|cap|treat|keep|reuse|stay
    hardcode|hard-code
    go with|for
    default to
    leave @it|the
    make @it
    make the|all|every? _* @quality
    call @it|the
    name it
    set it|the|a
    put it|them
    give up
    only !if|when|one|the
    all _* in|as|with|must|should|get|use|return
    not _ _? _? , but|use? _
    always|never !been|had|used|seen|heard|tried|worked|mind
    forget about? the|that|it
    no new|more|extra|additional|external|third-party
    no !@trouble _* in|for|on|at|outside|inside|before|without
    no !@no_noun _? _? $
    no !@no_noun from|by|with _ $
    not !@not_value _? $
    not with|on|in|for|from the|a|an|this|that|any|my
    don't !@start_verbs
    do not !@start_verbs
    leave that|it|this|them|everything out|off|alone|as|there|for|til|till|until
    kick|throw|take it|them|that|this|all all? out|off
    rename _* to
    assume the|that|it
    just the|a|an|one|two|three|four|five !other|thing _
    give _ _? its|their own
    let them|it|people _
    """,
    _LISTS,
)
