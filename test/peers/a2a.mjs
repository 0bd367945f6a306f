// What the agent and the client on @a2a-js/sdk have in common: parts of
// messages, and how questions and answers are written in them.
import { randomUUID } from 'node:crypto';
import { Role, TaskState } from '@a2a-js/sdk';

export { TaskState };

const part = ($case, value, mediaType) => ({ content: { $case, value }, mediaType, filename: '', metadata: {} });
export const text = (value) => part('text', value, 'text/plain');
export const data = (value) => part('data', value, 'application/json');

const of = (parts, $case) => (parts ?? []).filter((p) => p.content?.$case === $case).map((p) => p.content.value);
export const words = (parts) => of(parts, 'text').join('\n');
export const values = (parts) => of(parts, 'data');

export const says = (role, parts, { taskId = '', contextId = '', metadata = {} } = {}) => ({
  role, parts, taskId, contextId, metadata, messageId: randomUUID(), extensions: [], referenceTaskIds: [],
});
export const user = (parts, at) => says(Role.ROLE_USER, parts, at);
export const agent = (parts, at) => says(Role.ROLE_AGENT, parts, at);

const ended = [TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_FAILED, TaskState.TASK_STATE_CANCELED, TaskState.TASK_STATE_REJECTED];
export const over = (state) => ended.includes(state);
