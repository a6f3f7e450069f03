import { Option, type Command } from 'commander';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { WebhookAttempt, WebhookEvent, WebhookState } from '../../store/store.ts';
import { rotateWebhookSecret } from '../../webhooks/rotate-webhook-secret.ts';
import type { CommandContext } from '../command-context.ts';
import { requireFound } from '../command-error.ts';
import { addExamples, exampleAccount, exampleId } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readCount } from '../read-arguments.ts';

const maxListed = 10_000;
const states = ['pending', 'delivered', 'stopped', 'exhausted'] as const satisfies readonly WebhookState[];

/** Adds `webhooks list`, `show`, `redeliver` and `rotate-secret`. */
export const addWebhookCommands = (program: Command, context: CommandContext): void => {
  const webhooks = program
    .command('webhooks')
    .summary('list, show and redeliver webhooks; rotate signing secrets')
    .description(
      'Lists, shows and redelivers the webhooks that announce the end of image jobs, and rotates the secrets that sign ' +
        'them. A webhook is pending until the receiver acknowledges it (delivered), answers 410 (stopped), or fails at ' +
        'every attempt (exhausted).',
    );
  addExamples(webhooks, [
    'causeway webhooks list --state exhausted',
    `causeway webhooks redeliver ${exampleId}`,
  ]);
  addList(webhooks, context);
  addShow(webhooks, context);
  addRedeliver(webhooks, context);
  addRotateSecret(webhooks, context);
};

interface ListOptions {
  account?: string;
  job?: string;
  state?: WebhookState;
  limit: number;
}

const addList = (webhooks: Command, context: CommandContext): void => {
  const list = webhooks
    .command('list')
    .summary('list webhooks')
    .description(
      'Lists webhooks, newest first. ATTEMPTS counts from the end of the job or the last "redeliver".',
    )
    .option('--account <account>', 'only those of this account')
    .option('--job <job>', 'only that of this job')
    .addOption(new Option('--state <state>', 'only those in this state').choices(states))
    .option('--limit <count>', 'list at most this many', readCount(maxListed), 100)
    .action(({ account, job, state, limit }: ListOptions) =>
      context.run(async ({ store }) => {
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
      }),
    );
  addExamples(list, [
    'causeway webhooks list',
    `causeway webhooks list --account ${exampleAccount} --state pending`,
    `causeway webhooks list --state exhausted --json | jq -r '.webhooks[].event_id'`,
  ]);
};

const addShow = (webhooks: Command, context: CommandContext): void => {
  const show = webhooks
    .command('show')
    .summary('show a webhook and every attempt to deliver it')
    .description(
      'Shows a webhook with its address and its delivery attempts. Its body, which has the result URLs, is not shown.',
    )
    .argument('<event>', 'id of the event, as "webhooks list" shows it')
    .action((given: string) =>
      context.run(async ({ store }) => {
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
      }),
    );
  addExamples(show, [
    `causeway webhooks show ${exampleId}`,
    `causeway webhooks show ${exampleId} --json | jq .attempts`,
  ]);
};

const addRedeliver = (webhooks: Command, context: CommandContext): void => {
  const redeliver = webhooks
    .command('redeliver')
    .summary('send a webhook again')
    .description(
      'Makes a webhook due at once, in any state, with the full number of attempts. The running gateway sends it with the ' +
        'same event_id and the same body.',
    )
    .argument('<event>', 'id of the event, as "webhooks list" shows it')
    .action((given: string) =>
      context.run(async ({ store, clock }) => {
        const eventId = given.toLowerCase();
        const redelivered = await store.redeliverWebhook({ eventId, now: clock.now() });
        const webhook = requireFound(redelivered, 'webhook', given);
        return {
          json: { webhook: webhookJson(webhook) },
          text: `${webhook.id} is due now.`,
          remark: `To see its delivery: causeway webhooks show ${webhook.id}`,
        };
      }),
    );
  addExamples(redeliver, [
    `causeway webhooks redeliver ${exampleId}`,
    `causeway webhooks list --state exhausted --json | jq -r '.webhooks[].event_id' | xargs -n 1 causeway webhooks redeliver`,
  ]);
};

const addRotateSecret = (webhooks: Command, context: CommandContext): void => {
  const rotate = webhooks
    .command('rotate-secret')
    .summary('give an account a new signing secret')
    .description(
      'Gives an account a new secret that signs its webhooks. The customer reads it at GET /v1/balance; it is not shown ' +
        'here. For 24 hours the previous secret signs too. A second rotation within that time ends the oldest secret.',
    )
    .argument('<account>', 'id of the account')
    .action((accountId: string) =>
      context.run(async (session) => {
        const { previous } = requireFound(
          await rotateWebhookSecret(session, accountId),
          'account',
          accountId,
        );
        const until = previous && toIso(previous.until);
        return {
          json: { account_id: accountId, previous_signs_until: until },
          text: [
            'The account has a new signing secret: its owner reads it as webhook_secret at GET /v1/balance.',
            ...(until === null ? [] : [`The previous secret signs too until ${until}.`]),
          ].join('\n'),
        };
      }),
    );
  addExamples(rotate, [`causeway webhooks rotate-secret ${exampleAccount}`]);
};

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
