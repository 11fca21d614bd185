package cli

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeNamesCommands: the README's list has every command.
func TestReadmeNamesCommands(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(readme), "\n## Commands\n")
	if !found {
		t.Fatal("the README has no part Commands")
	}
	for _, c := range appOf(t).root().Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		_, line, found := strings.Cut(list, "\ngoestimator "+c.Name()+" ")
		if !found && !strings.Contains(list, "\ngoestimator "+c.Name()+"\n") {
			t.Errorf("command %s: it is not in the README's list of commands", c.Name())
		}
		line, _, _ = strings.Cut(line, "\n")
		for _, sub := range c.Commands() {
			if c.Name() == "inspect" && !strings.Contains(line, sub.Name()) {
				t.Errorf("command inspect %s: it is not in the README's list of commands", sub.Name())
			}
		}
	}
}
