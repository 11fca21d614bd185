// Package rest is the REST API of TensorFlow Serving: the same paths, bodies, replies, error texts and HTTP codes, so
// that its clients cannot tell the difference.
//
//	POST /v1/models/NAME[/versions/N|/labels/LABEL]:predict    {"signature_name"?, "instances": [...] | "inputs": ...}
//	POST /v1/models/NAME[...]:classify, :regress               {"signature_name"?, "context"?: {...}, "examples": [{...}]}
//	GET  /v1/models/NAME[...]                                  states of the versions
//	GET  /v1/models/NAME[...]/metadata                         signatures
//	OPTIONS /v1/...                                            CORS preflight
//
// and in addition to TensorFlow Serving:
//
//	GET /v1/models:list    all models with the states of their versions ("GET /v1/models" is an error there, and here)
//	GET /healthz           200 as long as the server lives
//	GET /readyz            200 once Options.Ready says so, else 503
//
// Request bodies may be gzip, which is also bounded after decompression; replies are compressed for clients that accept
// it. A body that arrives too slowly is refused with 408, a body that is too large with 413.
//
// # JSON
//
// The package has its own parser, since encoding/json accepts neither NaN nor Infinity and boxes every number. One pass
// checks the syntax with RapidJSON's errors and offsets and records the positions of lists and objects; a second reads
// numbers straight into tensors. Neither recurses deeper than the rank of a tensor. Memory is bounded by the size of the
// body: the shape that a request claims allocates nothing before its elements are read.
//
// # Where it differs
//
// TensorFlow Serving is followed even where it is odd: integers for tensors of 8 and 16 bits are accepted in the 32-bit
// range and truncated; a label in a status request is ignored; ":Predict" is malformed though "/V1/Models" is not. It is
// not followed where a client would lose something. A version that is not a number, or a preflight without an origin, is
// refused with a body that says so (there it is empty); doubles are read to the nearest one (there up to three units
// off); a name given twice in an instance counts once (there its rows shift); maps are sorted (there they have no order);
// a path outside of /v1/ is refused in JSON (there in HTML); strings in errors are cut at 4096 bytes; and "NInf" and
// "NaN.5" are not numbers (RapidJSON accepts them by accident).
//
// The http.Server around the handler should have a ReadHeaderTimeout; this package has timeouts for bodies and replies.
package rest
