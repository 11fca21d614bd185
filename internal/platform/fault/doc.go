// Package fault hides the details of panics from clients: they read that the server has a
// defect, and a number; the log has the panic, its stack, and the same number.
package fault
