// Package opsmatrix says which backend has which op, and what tests compare it with, from the backends' own registries and
// the files of recorded answers. Its test writes docs/ops.md; nothing else imports it.
package opsmatrix
