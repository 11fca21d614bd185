// Package eagerservice is TensorFlow's EagerService, through which TensorFlow 2's clients use other tasks, for example
// ParameterServerStrategy and ClusterCoordinator.
//
// A client makes a context in each task, with the same number. In it, it runs single ops and functions. The outputs stay in the task under
// the number of the op until the client drops them. A function may have arguments and nodes in other tasks. The task that is asked to run
// it divides it, registers the parts with the contexts of the other tasks, and runs all of them in a step that uses the rendezvous of the
// WorkerService. Clients and C++ servers do the same with parts for this task.
//
// Codes and texts of errors are TensorFlow's where a coordinator uses them to decide what was lost.
package eagerservice
