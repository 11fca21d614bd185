// Package inprocess is a cluster in one process, for tests and notebooks: its
// tasks are goroutines, which talk to each other over loopback as the processes of
// a real cluster do.
//
// The program of each task is a function. It does what the main function of a
// binary does with the RunConfig of its TF_CONFIG:
//
//	program := func(ctx context.Context, rc runconfig.RunConfig) error {
//		if rc.TaskType() == runconfig.PS {
//			return distribute.Serve(ctx, rc)
//		}
//		s, err := distribute.New(rc)
//		...
//	}
//	err := inprocess.Run(ctx, inprocess.Tasks{Chief: 1, Workers: 3, PS: 2}, program, options...)
//
// In a notebook the chief may be what the cells do, and the other tasks goroutines:
//
//	c, err := inprocess.New(inprocess.Tasks{Chief: 1, Workers: 3, PS: 2}, program, options...)
//	defer c.Close()
//	err = c.Start(ctx, c.Tasks(runconfig.Worker, runconfig.PS)...)
//	rc, err := c.RunConfig(inprocess.Task{Job: runconfig.Chief})
//
// # Losing tasks
//
// Cluster.Kill ends a task as the end of its process would: the others see its
// connections end, and nobody answers at its address. Cluster.Start starts it again.
// The goroutine of a task can only end by itself: its context has ended, and all its
// calls to others fail. So what it does with files, up to its end, is done. To test
// the loss of a process in the middle of a write, run processes.
package inprocess
