package demo

import (
	"encoding/json"
	"fmt"
)

// Tool is the tool of the server.
const Tool = "order_lunch"

var lunchTool = object{
	"name": Tool, "title": "Order lunch",
	"description": "Orders lunch for the team, and asks somebody what it should be.",
	"inputSchema": object{"type": "object", "properties": object{}},
}

// lunchQuestion is JSON as it stands, because fields are shown in its order.
var lunchQuestion = json.RawMessage(`{
	"mode": "form",
	"message": "Lunch is about to be ordered for the team. What should it be?",
	"requestedSchema": {
		"type": "object",
		"properties": {
			"dish": {"type": "string", "title": "Dish", "enum": ["Pizza Margherita", "Ramen", "Falafel plate"]},
			"portions": {"type": "integer", "title": "Portions", "minimum": 1, "maximum": 20, "default": 4},
			"spicy": {"type": "boolean", "title": "Spicy", "default": false},
			"note": {"type": "string", "title": "A word to the kitchen", "maxLength": 200}
		},
		"required": ["dish", "portions"]
	}
}`)

// lunch is one round of a call: the first asks, the second has the answer.
func lunch(id json.RawMessage, answers map[string]answer) object {
	a, ok := answers["lunch"]
	if !ok {
		return ask(id, "lunch", lunchQuestion)
	}
	words, failed := order(a)
	return complete(id, object{"content": []object{{"type": "text", "text": words}}, "isError": failed})
}

// order says what came of an answer.
func order(a answer) (words string, failed bool) {
	switch a.Action {
	case "accept":
	case "decline":
		return "No lunch was ordered: the person said no.", false
	default:
		return "No lunch was ordered: the person put the question away.", false
	}
	var meal struct {
		Dish     string `json:"dish"`
		Portions int    `json:"portions"`
		Spicy    bool   `json:"spicy"`
		Note     string `json:"note"`
	}
	if err := json.Unmarshal(a.Content, &meal); err != nil {
		return "No lunch was ordered: the answer cannot be read.", true
	}
	words = fmt.Sprintf("Lunch is ordered: %d × %s", meal.Portions, meal.Dish)
	if meal.Spicy {
		words += ", spicy"
	}
	if meal.Note != "" {
		words += ". To the kitchen: " + meal.Note
	}
	return words + ".", false
}
