-- Who has work to do is found without looking at those who have none.

CREATE INDEX agents_working ON agents (space, agent) WHERE working AND status = 'running';
