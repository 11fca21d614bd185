// Package fault keeps panics apart from their readers: who asked hears that the
// server has a defect, and a number; the log has what it was, where, and the same number.
package fault
