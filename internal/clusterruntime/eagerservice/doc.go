// Package eagerservice is TensorFlow's EagerService, by which TensorFlow 2's clients use other tasks: ParameterServerStrategy and
// ClusterCoordinator among them.
//
// A client makes a context in each task, with the same number. In it, it runs ops one by one, and functions. The outputs stay in the task
// under the number of the op, until the client drops them. A function may have arguments and nodes in other tasks: the task that is asked
// to run it divides it, registers the parts with the contexts of the other tasks, and runs all of them in a step, whose rendezvous is that
// of the WorkerService. Clients and C++ servers do the same with parts that belong here.
//
// Codes and texts of errors are TensorFlow's where a coordinator decides by them what was lost.
package eagerservice
