// Package drivertest is the contract of package driver as tests: every implementation runs them on what machine it can.
package drivertest
