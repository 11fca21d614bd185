// Package budget accounts for the memory of a server's requests before it is allocated.
//
// A Server limits what all requests hold together, an Account what one request holds. Code calls Reserve before it
// allocates memory whose size the request decides, and Release when that memory is garbage. Close releases the rest,
// however the request ended. An Account travels in the context of its request. A nil Account allows everything, so that
// code that also runs without a request, such as the loading of models, needs no case of its own.
//
// A request's limit grows with its size in bytes, which bounds amplification attacks. What a model computes for rows that
// were sent in full, its answer included, is bounded by the Server alone (ReserveModel). What it computes for rows that only
// a shape declares, or for values that stand for many (the sizes of a Fill), counts against the request's limit (Reserve). That is larger by
// what the model has held at once for rows that were sent, whatever their values (ReserveFixed).
//
// The counts are of live memory. The package also runs the garbage collector when much was released since its last run,
// and returns memory to the system once large requests have ended.
package budget
