// Package printable shows text of untrusted origin, such as the name of a model
// in a request, where people and programs read lines: on a terminal, in a log, as
// the label of a metric. The shown text cannot end the line, move the cursor,
// change colours or reverse the direction of writing.
package printable
