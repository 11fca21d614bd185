// Package budget counts the memory that the requests of a server take, before they take it.
//
// A Server is what all requests may hold together, an Account what one of them may. Whoever is about to allocate for a
// request what the request can make large calls Reserve, and Release when that is garbage; Close gives back what is left,
// however the request ended. An Account travels in the context of its request. A nil Account allows everything, so that
// code which also serves others, such as the loading of models, needs no case of its own.
//
// What a request may hold grows with its bytes: an amplification that its author chose ends there. What a model computes
// for rows that were sent one by one, its answer and that as text included, is the model's own affair, and bounded by the
// Server alone: ReserveModel. What it computes for rows that a shape stands for, and what values of the request make large (the
// sizes of a Fill, say), is the request's: Reserve.
//
// The counts are of live memory. That the collector follows is this package's business too: it is run where much was
// given back since it last ran, and memory goes back to the system once large requests have ended.
package budget
