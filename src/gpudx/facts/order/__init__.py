"""What happens before what: the order that streams, events and waits give to calls, and pairs of calls without one."""
