package maskedcrc

import (
	"fmt"
	"testing"
)

func TestOf(t *testing.T) {
	// 0x8a9136aa is the CRC-32C of 32 zero bytes (RFC 3720, B.4).
	if c := Update(0, make([]byte, 32)); c != 0x8a9136aa {
		t.Fatalf("got %#x", c)
	}
	if Of([]byte("ab"), []byte("c")) != Of([]byte("abc")) {
		t.Fatal("parts count")
	}
	if Of([]byte("foo")) == Update(0, []byte("foo")) {
		t.Fatal("not masked")
	}
}

func ExampleOf() {
	fmt.Printf("%#x\n", Of(make([]byte, 32)))
	// Output: 0xfd7fffa
}
