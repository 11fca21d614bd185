// Package wav reads sound from RIFF WAVE files: PCM of 8, 16, 24 and 32 bits and floats of 32 and 64 bits; other chunks are skipped.
// Source: Multimedia Programming Interface and Data Specifications 1.0 (IBM, Microsoft 1991), and WAVEFORMATEXTENSIBLE.
//
// Parse16 accepts only what TensorFlow's DecodeWav accepts, with its errors.
package wav
