// Package wire is the protocol buffer codec of the model server and its client, for large messages without conversions:
//
//   - The floats, doubles and raw content of the tensors of PredictRequest and PredictResponse are read from the
//     transport straight into their place, aligned, and written from where they lie.
//   - The examples of classifications and regressions stay serialized, as the models take them: the Input holds
//     the bytes that came as unknown fields, which marshal to the same bytes. ExamplesOf gets them back.
//   - Cost says what a message will take in memory before it is read, and a Reply is counted until it was sent.
//
// Every other message, and every message in an unusual form, goes through the ordinary codec; what a peer sees is the
// same in all cases.
package wire
