import { Argument, Option } from 'commander';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { WebhookAttempt, WebhookEvent, WebhookState } from '../../store/store.ts';
import { rotateWebhookSecret } from '../../webhooks/rotate-webhook-secret.ts';
import {
  accountArgument,
  limitOption,
  type CommandDefinition,
  type CommandGroup,
} from '../command-definition.ts';
import { requireFound } from '../command-error.ts';
import { exampleAccount, exampleId } from '../examples.ts';
import { formatTable } from '../format-table.ts';

const states = ['pending', 'delivered', 'stopped', 'exhausted'] as const satisfies readonly WebhookState[];

const eventArgument = new Argument('<event>', 'id of the event, as "webhooks list" shows it');

const webhookJson = (webhook: WebhookEvent): JsonObject => ({
  event_id: webhook.id,
  account_id: webhook.accountId,
  job_id: webhook.jobId,
  url: webhook.url,
  state: webhook.state,
  attempts: webhook.attempts,
  next_attempt_at: isoOrNull(webhook.nextAttemptAt),
  created_at: toIso(webhook.createdAt),
  updated_at: toIso(webhook.updatedAt),
});

const attemptJson = (attempt: WebhookAttempt): JsonObject => ({
  at: toIso(attempt.at),
  duration_ms: attempt.durationMs,
  http_status: attempt.httpStatus,
  failure: attempt.failure,
});

const webhookTable = (webhooks: readonly WebhookEvent[]): string =>
  formatTable(
    {
      EVENT: 'event_id',
      STATE: 'state',
      ATTEMPTS: { right: 'attempts' },
      NEXT: 'next_attempt_at',
      CREATED: 'created_at',
      HOST: 'host',
    },
    webhooks.map((webhook) => ({ ...webhookJson(webhook), host: URL.parse(webhook.url)?.host })),
  );

const attemptTable = (attempts: readonly WebhookAttempt[]): string =>
  formatTable(
    { ATTEMPT: 'at', 'TOOK MS': { right: 'duration_ms' }, STATUS: 'http_status', FAILURE: 'failure' },
    attempts.map(attemptJson),
  );

interface ListOptions {
  account?: string;
  job?: string;
  state?: WebhookState;
  limit: number;
}

const list: CommandDefinition<[ListOptions]> = {
  name: 'list',
  summary: 'list webhooks',
  description:
    'Lists webhooks, newest first. ATTEMPTS counts from the end of the job or the last "redeliver".',
  examples: [
    'causeway webhooks list',
    `causeway webhooks list --account ${exampleAccount} --state pending`,
    `causeway webhooks list --state exhausted --json | jq -r '.webhooks[].event_id'`,
  ],
  options: [
    new Option('--account <account>', 'only those of this account'),
    new Option('--job <job>', 'only that of this job'),
    new Option('--state <state>', 'only those in this state').choices(states),
    limitOption(10_000, 100),
  ],
  run: async ({ store }, { account, job, state, limit }) => {
    if (account !== undefined) requireFound(await store.getAccount(account), 'account', account);
    const found = await store.listWebhooks({
      accountId: account,
      jobId: job?.toLowerCase(),
      states: state && [state],
      limit: limit + 1,
    });
    const listed = found.slice(0, limit);
    const hasMore = found.length > limit;
    return {
      json: { webhooks: listed.map(webhookJson), has_more: hasMore },
      text: listed.length === 0 ? 'There are no such webhooks.' : webhookTable(listed),
      remark: hasMore ? 'There are more: raise --limit, or narrow the list.' : undefined,
    };
  },
};

const show: CommandDefinition<[string]> = {
  name: 'show',
  summary: 'show a webhook and every attempt to deliver it',
  description:
    'Shows a webhook with its address and its delivery attempts. Its body, which has the result URLs, is not shown.',
  examples: [
    `causeway webhooks show ${exampleId}`,
    `causeway webhooks show ${exampleId} --json | jq .attempts`,
  ],
  arguments: [eventArgument],
  run: async ({ store }, given) => {
    const eventId = given.toLowerCase();
    const webhook = requireFound(await store.getWebhook(eventId), 'webhook', given);
    const attempts = await store.listWebhookAttempts(eventId);
    return {
      json: { webhook: webhookJson(webhook), attempts: attempts.map(attemptJson) },
      text: [
        webhookTable([webhook]),
        `To ${webhook.url}\nFor job ${webhook.jobId} of account ${webhook.accountId}`,
        attempts.length === 0 ? 'Nothing has been sent yet.' : attemptTable(attempts),
      ].join('\n\n'),
    };
  },
};

const redeliver: CommandDefinition<[string]> = {
  name: 'redeliver',
  summary: 'send a webhook again',
  description:
    'Makes a webhook due at once, in any state, with the full number of attempts. The running gateway sends it with the ' +
    'same event_id and the same body.',
  examples: [
    `causeway webhooks redeliver ${exampleId}`,
    `causeway webhooks list --state exhausted --json | jq -r '.webhooks[].event_id' | xargs -n 1 causeway webhooks redeliver`,
  ],
  arguments: [eventArgument],
  run: async ({ store, clock }, given) => {
    const redelivered = await store.redeliverWebhook({ eventId: given.toLowerCase(), now: clock.now() });
    const webhook = requireFound(redelivered, 'webhook', given);
    return {
      json: { webhook: webhookJson(webhook) },
      text: `${webhook.id} is due now.`,
      remark: `To see its delivery: causeway webhooks show ${webhook.id}`,
    };
  },
};

const rotateSecret: CommandDefinition<[string]> = {
  name: 'rotate-secret',
  summary: 'give an account a new signing secret',
  description:
    'Gives an account a new secret that signs its webhooks. The customer reads it at GET /v1/balance; it is not shown ' +
    'here. For 24 hours the previous secret signs too. A second rotation within that time ends the oldest secret.',
  examples: [`causeway webhooks rotate-secret ${exampleAccount}`],
  arguments: [accountArgument],
  run: async (session, accountId) => {
    const rotated = requireFound(await rotateWebhookSecret(session, accountId), 'account', accountId);
    const until = rotated.previous && toIso(rotated.previous.until);
    return {
      json: { account_id: accountId, previous_signs_until: until },
      text: [
        'The account has a new signing secret: its owner reads it as webhook_secret at GET /v1/balance.',
        ...(until === null ? [] : [`The previous secret signs too until ${until}.`]),
      ].join('\n'),
    };
  },
};

export const webhookCommands: CommandGroup = {
  name: 'webhooks',
  summary: 'list, show and redeliver webhooks; rotate signing secrets',
  description:
    'Lists, shows and redelivers the webhooks that announce the end of image jobs, and rotates the secrets that sign ' +
    'them. A webhook is pending until the receiver acknowledges it (delivered), answers 410 (stopped), or fails at ' +
    'every attempt (exhausted).',
  commands: [list, show, redeliver, rotateSecret],
};
