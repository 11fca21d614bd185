package fingerprint

import "testing"

// TestReference: SipHash's published vector (key 0..15, message 0..14), and
// TensorFlow's fingerprints of one string of each length class.
func TestReference(t *testing.T) {
	msg := make([]byte, 15)
	for i := range msg {
		msg[i] = byte(i)
	}
	if got := Sip64([2]uint64{0x0706050403020100, 0x0f0e0d0c0b0a0908}, msg); got != 0xa129ca6149be45e5 {
		t.Errorf("SipHash: got %#x", got)
	}
	if got := Hash64(nil); got != 0x9ae16a3b2f90404f {
		t.Errorf("fingerprint of nothing: got %#x", got)
	}
	// tsl/platform/fingerprint_test.cc
	if got := Hash64([]byte("Hello")); got != 15404698994557526151 {
		t.Errorf("fingerprint of Hello: got %d", got)
	}
	if got := Hash64([]byte("World")); got != 18308117990299812472 {
		t.Errorf("fingerprint of World: got %d", got)
	}
}
