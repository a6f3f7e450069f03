import type { CommandInput } from '../commands.ts';
import { toWebhook, webhookColumns, type WebhookRow } from '../rows.ts';
import type { WebhookEvent, WebhookState } from '../store.ts';
import { eachOf, type Dialect, type Statement } from './statement.ts';

type ListInput = CommandInput<'listWebhooks'>;
type ListStatement<Input = ListInput> = Statement<Input, WebhookRow, WebhookEvent[]>;

const newestFirst = 'order by created_at desc, id desc limit';
/** True if the event is in one of the wanted states, or all states are wanted. */
const inStates = ({ isOneOf }: Dialect, parameter: string): string =>
  `(cast(${parameter} as text) is null or ${isOneOf('state', parameter)})`;
const statesValue = ({ states }: ListInput): string | null =>
  states === undefined ? null : JSON.stringify(states);

const ofJob: ListStatement<ListInput & { jobId: string }> = {
  name: 'list_webhooks_of_job',
  text: (dialect) => `select ${webhookColumns} from webhook_events
    where job_id = $1 and (cast($2 as text) is null or account_id = $2) and ${inStates(dialect, '$3')}
    ${newestFirst} $4`,
  values: (input) => [input.jobId, input.accountId ?? null, statesValue(input), input.limit],
  read: eachOf(toWebhook),
};

const ofAccount: ListStatement<ListInput & { accountId: string }> = {
  name: 'list_webhooks_of_account',
  text: (dialect) => `select ${webhookColumns} from webhook_events
    where account_id = $1 and ${inStates(dialect, '$2')} ${newestFirst} $3`,
  values: (input) => [input.accountId, statesValue(input), input.limit],
  read: eachOf(toWebhook),
};

const all: ListStatement = {
  name: 'list_webhooks',
  text: () => `select ${webhookColumns} from webhook_events ${newestFirst} $1`,
  values: ({ limit }) => [limit],
  read: eachOf(toWebhook),
};

const allStates = ['pending', 'delivered', 'stopped', 'exhausted'] as const satisfies WebhookState[];

/** Takes the newest of each state by its index, then the newest of these, so rare states are found as fast as common ones. */
const ofStates: ListStatement<ListInput & { states: readonly WebhookState[] }> = {
  name: 'list_webhooks_in_states',
  text: ({ isOneOf }) => {
    const newest = allStates.map(
      (state) => `select * from (select ${webhookColumns} from webhook_events
        where state = '${state}' and ${isOneOf(`'${state}'`, '$1')} ${newestFirst} $2) as ${state}`,
    );
    return `select * from (${newest.join(' union all ')}) as newest ${newestFirst} $2`;
  },
  values: ({ states, limit }) => [JSON.stringify(states), limit],
  read: eachOf(toWebhook),
};

/** The statements that list webhook events, each with its own index. */
export const webhookLists = { ofJob, ofAccount, ofStates, all };

type ListRuns<Output> = {
  [N in keyof typeof webhookLists]: (input: Parameters<(typeof webhookLists)[N]['values']>[0]) => Output;
};

/** Chooses the statement by the filters. */
export const listWebhooksBy =
  <Output>(runs: ListRuns<Output>) =>
  (input: ListInput): Output => {
    const { jobId, accountId, states } = input;
    if (jobId !== undefined) return runs.ofJob({ ...input, jobId });
    if (accountId !== undefined) return runs.ofAccount({ ...input, accountId });
    return states === undefined ? runs.all(input) : runs.ofStates({ ...input, states });
  };
