package peer

// a2aMessage is a message, with the parts that are used here.
type a2aMessage struct {
	ID        string         `json:"messageId"`
	TaskID    string         `json:"taskId,omitempty"`
	ContextID string         `json:"contextId,omitempty"`
	Role      string         `json:"role"`
	Parts     []a2aPart      `json:"parts"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

type a2aPart struct {
	Text string         `json:"text,omitempty"`
	Data map[string]any `json:"data,omitzero"`
}

// a2aTask is what is known of a task.
type a2aTask struct {
	ID        string
	ContextID string
	Status    a2aStatus
	Artifacts []a2aArtifact
}

type a2aStatus struct {
	State   string
	Message *a2aMessage
}

type a2aArtifact struct{ Parts []a2aPart }

func (s a2aStatus) waits() bool {
	return s.State == "TASK_STATE_INPUT_REQUIRED" || s.State == "TASK_STATE_AUTH_REQUIRED"
}

func (s a2aStatus) over() bool {
	switch s.State {
	case "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED":
		return true
	}
	return false
}

// said gives the words of a status and the data beside them.
func (s a2aStatus) said() (words string, data []map[string]any) {
	if s.Message == nil {
		return "", nil
	}
	for _, p := range s.Message.Parts {
		words += p.Text
		if p.Data != nil {
			data = append(data, p.Data)
		}
	}
	return words, data
}

// result gives the end of a task as a tool's.
func (t *a2aTask) result() *Result {
	r := &Result{IsError: t.Status.State != "TASK_STATE_COMPLETED"}
	if r.IsError {
		words, _ := t.Status.said()
		r.Content = []Content{{words}}
		return r
	}
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			r.Content = append(r.Content, Content{p.Text})
		}
	}
	return r
}
