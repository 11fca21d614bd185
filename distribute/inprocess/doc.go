// Package inprocess runs a cluster in one process, for tests and notebooks. Its tasks
// are goroutines, which communicate over loopback like the processes of a real
// cluster.
//
// The program of each task is a function. It does what a binary's main function would
// do with the RunConfig from TF_CONFIG:
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
// In a notebook the cells may be the chief, and the other tasks goroutines:
//
//	c, err := inprocess.New(inprocess.Tasks{Chief: 1, Workers: 3, PS: 2}, program, options...)
//	defer c.Close()
//	err = c.Start(ctx, c.Tasks(runconfig.Worker, runconfig.PS)...)
//	rc, err := c.RunConfig(inprocess.Task{Job: runconfig.Chief})
//
// # Losing tasks
//
// Cluster.Kill ends a task like the end of its process: the others see its connections
// end, and its address no longer answers. Cluster.Start starts it again. A goroutine
// cannot be killed: the task's context ends, and all its calls to other tasks fail, but
// it goes on writing files until it returns. To test the loss of a process in the middle
// of a write, run processes.
package inprocess
