// Package statustext says what an error is about in plain words. An error with a gRPC status prints itself as
// "rpc error: code = NotFound desc = no model"; inside another error, a log line or a status that is only noise.
package statustext
