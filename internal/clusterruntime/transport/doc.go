// Package transport carries the calls of TensorFlow's cluster runtime between this project's own processes.
//
// It serves the same services as gRPC, on the same port. Messages are Protocol Buffers, as with gRPC. A small call takes one write
// and one read at each end. Large tensors are written from their memory and read into memory of their own: there is no copy between
// a tensor and the socket.
//
// A [Conn] calls through gRPC at first. A [Server] that is called with a header of this package answers with one, and the Conn then
// opens a connection of this transport beside gRPC's. TensorFlow's servers ignore the header, so calls to them stay on gRPC. If the
// connection is lost, gRPC takes over, until a server answers with the header again.
//
// # Frames
//
// A client begins with the eight bytes of the preface, and the server answers with the same. Then both send frames. A frame has a
// header of 16 bytes, little-endian: the kind (1 byte), three zeros, the number of the call (4), the length of the following data
// (4), and how many bytes of these are its head (4).
//
//	request   head: method, timeout in ns, metadata, sizes of parts; then the message, if it has no parts
//	response  head: status, metadata of header and trailer, sizes of parts; then the message, if it has no parts
//	data      bytes of the parts of a message, one after the other
//	cancel    the caller does not wait any more
//	ping      is answered by a pong
//	pong
//
// In heads, numbers are varints, and texts follow their lengths. A message of more than 32 KiB comes in parts; tensors of 4 KiB and
// more are separate parts. Data frames have at most 256 KiB, so that small messages do not wait long. Messages in parts take turns,
// with 4 MiB each: the first tensor is complete while the next one arrives.
package transport
