import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { AppError, toAppError } from '../kit/errors.ts';
import { isUuid } from '../kit/ids.ts';
import { isTerminal } from '../jobs/public-job.ts';
import type { AccountCall, Services } from '../operations/call.ts';
import type { Operation, ToolTask } from '../operations/definition.ts';
import { admit } from '../operations/prepaid.ts';
import type { Job, JobKind } from '../store/store.ts';
import type { LogCall } from './log-calls.ts';
import { mayNot, toCall } from './call-tool.ts';
import { begun, takesTasks, taskScopes, tasksExtension, toTask } from './to-task.ts';
import { isIn, type McpIdentity, type ToolGroup } from './tool-list.ts';
import { toProtocolFault, type ToolAnswers } from './tool-result.ts';

interface Sought {
  method: string;
  taskId: string;
  identity: McpIdentity;
  context: Pick<ServerContext, 'mcpReq'>;
}

interface Found {
  job: Job;
  task: ToolTask;
  call: AccountCall;
}

/** Returns a function that finds a task of the caller's account. */
const createFindTask = (operations: readonly Operation[], services: Services) => {
  const tasks = new Map<JobKind, ToolTask>(
    operations.flatMap(({ tool }) => (tool?.task === undefined ? [] : [[tool.task.kind, tool.task]])),
  );
  return async ({ method, taskId, identity, context }: Sought): Promise<Found> => {
    if (!takesTasks(context)) throw notDeclared();
    const message = await toCall(identity, context.mcpReq);
    const { caller } = message;
    if (caller === null) throw new AppError('invalid_api_key', `Tasks need an API key. ${identity.keyHint}`);
    const scope = taskScopes.get(method) ?? 'generate';
    if (caller.scopes?.includes(scope) === false) throw new AppError('permission_denied', mayNot(scope));
    const call = await admit(message, services);
    const { accountId } = caller;
    const job = isUuid(taskId) ? await services.store.getJob({ id: taskId, accountId }) : null;
    const task = job === null ? undefined : tasks.get(job.kind);
    // A job whose own payment is not settled was never answered as a task, and its answer is withheld.
    if (job === null || task === undefined || job.unpaidBy !== null) throw unknownTask();
    return { job, task, call };
  };
};

const notDeclared = (): ProtocolError =>
  new MissingRequiredClientCapabilityError(
    { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
    `Declare the extension ${tasksExtension} in the client capabilities of each request`,
  );

const unknownTask = (): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, 'This account has no task with that id. Check taskId.');

interface TasksOptions {
  operations: readonly Operation[];
  answers: ToolAnswers;
  services: Services;
  logged: LogCall;
}

const params = z.looseObject({ taskId: z.string() });

/** Makes the methods of the tasks extension. All state of a task is the row of its job. */
export const createTasks = ({ operations, answers, services, logged }: TasksOptions) => {
  const { config, log, jobs } = services;
  const find = createFindTask(operations, services);

  /** Makes what the tool would have answered after the end of its job. */
  const resultOf = async ({ job, task, call }: Found) => {
    const answer = task.answer(job, call, services).then(
      (answered) => answers.toResult(answered, call),
      (thrown: unknown) => answers.toRefusal(toAppError(thrown)),
    );
    return { ...(await answer), resultType: 'complete' };
  };

  const get = async (sought: Sought) => {
    const found = await find(sought);
    const state = toTask(found.job, found.task, config);
    return state.status === 'completed' ? { ...state, result: await resultOf(found) } : state;
  };

  /** A task never asks for input, and the specification has what nobody asked for ignored. */
  const update = async (sought: Sought) => {
    await find(sought);
    return {};
  };

  const cancel = async (sought: Sought) => {
    const { job } = await find(sought);
    const isCancelled = (await jobs.cancel(job)) !== null || job.error?.code === 'cancelled';
    return {
      _meta: {
        [`${config.brand}/cancelled`]: isCancelled,
        ...(isCancelled || isTerminal(job) ? {} : { [`${config.brand}/message`]: begun }),
      },
    };
  };

  const methods = Object.entries({ 'tasks/get': get, 'tasks/update': update, 'tasks/cancel': cancel });
  const makers = operations.filter(({ tool }) => tool?.task !== undefined);
  const hasTasks = (group: ToolGroup): boolean => makers.some((operation) => isIn(group, operation));
  return {
    /** What a server of the group declares. */
    capabilities: (group: ToolGroup) => (hasTasks(group) ? { extensions: { [tasksExtension]: {} } } : {}),
    /** Lets a server answer the methods. */
    serve: (server: Server, identity: McpIdentity): void => {
      if (!hasTasks(identity.group)) return;
      for (const [method, answer] of methods)
        server.setRequestHandler(method, { params }, ({ taskId }, context) =>
          logged(identity, method, context.mcpReq, async (known): Promise<Record<string, unknown>> => {
            try {
              return await answer({ method, taskId, identity: known, context });
            } catch (thrown) {
              const facts = { requestId: known.requestId(), method };
              const { signal } = context.mcpReq;
              throw toProtocolFault(thrown, { what: 'a method of a task', facts, signal, log });
            }
          }),
        );
    },
  };
};
