// Package tabular looks at an unknown table: its format, the types of its columns, what they hold,
// which of them are of use to a model, and what sort of label one of them is. It reads files once, in bounded memory.
package tabular
