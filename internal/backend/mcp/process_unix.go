//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own, so that what it starts
// can be ended with it, and signals to the gateway do not reach it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func termGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
