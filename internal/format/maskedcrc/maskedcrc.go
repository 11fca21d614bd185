// Package maskedcrc computes the checksum of TensorFlow's files: CRC-32C (Castagnoli),
// rotated and offset so that checksums of data that contains checksums stay
// meaningful (LevelDB's definition, util/crc32c.h).
package maskedcrc

import "hash/crc32"

const delta = 0xa282ead8

var table = crc32.MakeTable(crc32.Castagnoli)

// Of returns the masked checksum of the concatenation of parts.
func Of(parts ...[]byte) uint32 {
	var c uint32
	for _, p := range parts {
		c = Update(c, p)
	}
	return Mask(c)
}

// Update adds p to an unmasked checksum, which starts at 0.
func Update(c uint32, p []byte) uint32 { return crc32.Update(c, table, p) }

// Mask returns the stored form of an unmasked checksum.
func Mask(c uint32) uint32 { return (c>>15 | c<<17) + delta }
