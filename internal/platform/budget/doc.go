// Package budget accounts for the memory of a server's requests before it is allocated.
//
// A Server limits the memory of all requests together, an Account the memory of one request. Code calls Reserve before it allocates memory
// whose size the request decides, and Release when that memory is garbage. Close releases the rest, however the request ended. An Account
// travels in the context of its request. A nil Account allows everything, so that code that also runs without a request, such as the
// loading of models, needs no special case.
//
// A request's limit grows with its size in bytes, which bounds amplification attacks. Only the Server bounds a model's results for rows
// that were sent in full, its answer included (ReserveModel). Results for rows that only a shape declares, or for values that stand for
// many (the sizes of a Fill), count against the request's limit (Reserve). That limit is raised by the most that the model has held at once
// for rows that were sent, whatever their values (ReserveFixed).
//
// Only live memory is counted. The package also runs the garbage collector when much was released since its last run, and returns memory to
// the system after large requests have ended.
package budget
