// Package calls lets the calls of clients into the services of a task, and ends them.
//
// A service that is registered through a [Calls] asks for the job token, refuses new steps while the task ends, and counts its
// calls, so that a task knows how long nobody has used it. It serves unary methods and streams alike.
package calls
