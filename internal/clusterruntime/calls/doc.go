// Package calls admits clients' calls to the services of a task, and ends them.
//
// A service that is registered through a [Calls] requires the job token, refuses new steps while the task shuts down, and
// counts its calls, so that a task knows how long it has been unused. It serves unary methods and streams alike.
package calls
