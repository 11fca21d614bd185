// Package opsmatrix lists which backend has which op, and what its tests compare with, from the backends' registries and
// the files of recorded answers. Its test writes docs/ops.md; nothing else imports it.
package opsmatrix
