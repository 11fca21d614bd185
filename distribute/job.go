package distribute

// Job is this task's membership in a cluster.
type Job struct{}
