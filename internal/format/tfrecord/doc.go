// Package tfrecord reads and writes TFRecord streams: for each record its length
// (uint64), the masked CRC-32C of these 8 bytes, the data, and the masked
// CRC-32C of the data, all little-endian.
package tfrecord
