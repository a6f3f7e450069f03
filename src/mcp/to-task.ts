import { CLIENT_CAPABILITIES_META_KEY, type ServerContext } from '@modelcontextprotocol/server';
import { toIso } from '../kit/clock.ts';
import { isJsonObject, type JsonObject } from '../kit/json.ts';
import type { OperationSettings } from '../operations/call.ts';
import type { ToolTask } from '../operations/definition.ts';
import type { Job } from '../store/store.ts';

/** The extension of revision 2026-07-28 by which a call is answered with a task: here, its job. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** What a connection must allow for each method. */
export const taskScopes: ReadonlyMap<string, string> = new Map([
  ['tasks/get', 'read'],
  ['tasks/update', 'read'],
  ['tasks/cancel', 'generate'],
]);

/** The metadata of a request: as it was sent, or as the library has taken it apart. */
export interface RequestMetadata {
  mcpReq: Pick<ServerContext['mcpReq'], '_meta' | 'envelope'>;
}

/** Returns what the client can do. It says so on each request, since 2026-07-28. */
export const capabilitiesOf = ({ mcpReq: { envelope, _meta } }: RequestMetadata): JsonObject => {
  const sent: Readonly<Record<string, unknown>> | undefined = envelope ?? _meta;
  const capabilities = sent?.[CLIENT_CAPABILITIES_META_KEY];
  return isJsonObject(capabilities) ? capabilities : {};
};

/** Tells whether the client takes tasks. */
export const takesTasks = (request: RequestMetadata): boolean => {
  const { extensions } = capabilitiesOf(request);
  return isJsonObject(extensions) && isJsonObject(extensions[tasksExtension]);
};

/** Makes the task of a job. */
export const toTask = (job: Job, { keepMs, pollMs }: ToolTask, config: OperationSettings) => {
  const kept = keepMs(config);
  return {
    taskId: job.id,
    ...stateOf(job),
    createdAt: toIso(job.createdAt),
    lastUpdatedAt: toIso(job.finishedAt ?? job.startedAt ?? job.createdAt),
    ttlMs: kept === null ? null : (job.finishedAt ?? job.deadlineAt) - job.createdAt + kept,
    pollIntervalMs: pollMs,
  };
};

interface TaskState {
  status: 'working' | 'completed' | 'cancelled';
  statusMessage?: string;
}

/** A failed job is a completed task: the answer of the tool tells of the failure. */
const stateOf = ({ status, attempts, progress, error }: Job): TaskState => {
  if (status === 'failed' && error?.code === 'cancelled')
    return { status: 'cancelled', statusMessage: error.message };
  if (status === 'failed' || status === 'done') return { status: 'completed' };
  return { status: 'working', statusMessage: attempts === 0 ? waiting : `${progress} % done. ${begun}` };
};

const waiting = 'Waiting for its turn. It can be cancelled, and is not charged then.';

/** Said of a job that cannot be cancelled any more. */
export const begun = 'The job has begun: it goes on, and is charged if it succeeds.';
