// Package statustext prints errors in plain words. An error with a gRPC status prints itself as "rpc error: code
// = NotFound desc = no model"; inside another error, a log line or a status, the prefix is only noise.
package statustext
