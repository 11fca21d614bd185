// Package wire is the protocol buffer codec of the model server and its client, for large messages without conversions:
//
//   - The floats, doubles and raw content of the tensors of PredictRequest and PredictResponse are read straight
//     from the transport into place, aligned, and written without copies.
//   - The examples of classifications and regressions stay serialized, as the models take them: the Input keeps the
//     received bytes as unknown fields, which marshal to the same bytes. ExamplesOf gets them back.
//   - Cost estimates the memory for a message before it is read, and a Reply is accounted for until it was sent.
//
// Every other message, and every message in an unusual form, goes through the ordinary codec; peers see no difference.
package wire
