package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticks is the number of units per second in /proc's processor times: USER_HZ, 100 on Linux.
const ticks = 100

// processorTime returns the processor time, in seconds, of all threads of a process so far, from /proc, in steps of 10 ms.
func processorTime(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseStat(string(text))
}

// parseStat reads utime and stime. The second field, a name in parentheses, may contain spaces.
func parseStat(text string) (float64, error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat has %d fields after the name, expected 13 or more", len(fields))
	}
	user, err := strconv.ParseUint(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseUint(fields[12], 10, 64)
	return float64(user+system) / ticks, err
}
