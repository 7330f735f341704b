"""The durable engine: DBOS queues, owns and resumes runs; nothing else imports DBOS."""
