// Package tabular looks at a table of which nothing is known: its format, the types of its columns, what they hold,
// which of them are of use to a model, and what sort of label one of them is. It reads files once, in bounded memory.
package tabular
