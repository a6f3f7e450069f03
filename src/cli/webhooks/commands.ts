import { Option, type Command } from 'commander';
import { toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { WebhookAttempt, WebhookEvent, WebhookState } from '../../store/store.ts';
import { rotateWebhookSecret } from '../../webhooks/rotate-webhook-secret.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { addExamples, exampleAccount, exampleId } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readCount } from '../read-text.ts';
import { noAccount } from '../refusals.ts';

const maxListed = 10_000;
const states = ['pending', 'delivered', 'stopped', 'exhausted'] as const satisfies readonly WebhookState[];

/** Adds `webhooks list`, `show`, `redeliver` and `rotate-secret`. */
export const addWebhookCommands = (program: Command, context: CommandContext): void => {
  const webhooks = program
    .command('webhooks')
    .summary('list, look at and redeliver webhooks; change signing secrets')
    .description(
      'Lists, shows and redelivers the webhooks that announce the end of image jobs, and changes the secrets that sign ' +
        'them. A webhook is pending until the receiver acknowledges it (delivered), answers 410 (stopped), or has ' +
        'failed at every attempt (exhausted).',
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
      'Lists webhooks, newest first. ATTEMPTS counts since the job ended or the webhook was redelivered.',
    )
    .option('--account <account>', 'only those of this account')
    .option('--job <job>', 'only that of this job')
    .addOption(new Option('--state <state>', 'only those in this state').choices(states))
    .option('--limit <count>', 'list at most this many', readCount(maxListed), 100)
    .action(({ account, job, state, limit }: ListOptions) =>
      context.run(async ({ store }) => {
        if (account !== undefined && (await store.getAccount(account)) === null) throw noAccount(account);
        const found = await store.listWebhooks({
          accountId: account,
          jobId: job?.toLowerCase(),
          ...(state === undefined ? {} : { states: [state] }),
          limit: limit + 1,
        });
        const listed = found.slice(0, limit);
        const hasMore = found.length > limit;
        return {
          json: { webhooks: listed.map(webhookJson), has_more: hasMore },
          text: listed.length === 0 ? 'There are no such webhooks.' : webhookTable(listed),
          ...(hasMore ? { remark: 'There are more: raise --limit, or narrow the list.' } : {}),
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
      'Shows a webhook with its address and the log of its deliveries. Its body, which holds the result URLs, is not shown.',
    )
    .argument('<event>', 'id of the event, as "webhooks list" shows it')
    .action((given: string) =>
      context.run(async ({ store }) => {
        const eventId = given.toLowerCase();
        const webhook = await store.getWebhook(eventId);
        if (webhook === null) throw noWebhook(given);
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
      'Makes a webhook due at once, whatever its state, with all attempts before it again. The gateway sends it, under the ' +
        'same event_id and with the same body, as soon as it runs.',
    )
    .argument('<event>', 'id of the event, as "webhooks list" shows it')
    .action((given: string) =>
      context.run(async ({ store, clock }) => {
        const webhook = await store.redeliverWebhook({ eventId: given.toLowerCase(), now: clock.now() });
        if (webhook === null) throw noWebhook(given);
        return {
          json: { webhook: webhookJson(webhook) },
          text: `${webhook.id} is due now.`,
          remark: `See what becomes of it: causeway webhooks show ${webhook.id}`,
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
        'here. For 24 hours the secret before signs beside it. Done twice within that time, the oldest ends at once.',
    )
    .argument('<account>', 'id of the account')
    .action((accountId: string) =>
      context.run(async (session) => {
        const secrets = await rotateWebhookSecret(session, accountId);
        if (secrets === null) throw noAccount(accountId);
        const until = secrets.previous === null ? null : toIso(secrets.previous.until);
        return {
          json: { account_id: accountId, previous_signs_until: until },
          text: [
            'The account has a new signing secret: its owner reads it as webhook_secret at GET /v1/balance.',
            ...(until === null ? [] : [`The secret before signs beside it until ${until}.`]),
          ].join('\n'),
        };
      }),
    );
  addExamples(rotate, [`causeway webhooks rotate-secret ${exampleAccount}`]);
};

const noWebhook = (given: string): CommandError =>
  new CommandError(
    'webhook_not_found',
    `There is no webhook with event id ${JSON.stringify(given.slice(0, 40))}.`,
  );

const isoOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : toIso(epochMs));

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
    [
      { title: 'EVENT' },
      { title: 'STATE' },
      { title: 'ATTEMPTS', align: 'right' },
      { title: 'NEXT' },
      { title: 'CREATED' },
      { title: 'HOST' },
    ],
    webhooks.map((webhook) => [
      webhook.id,
      webhook.state,
      String(webhook.attempts),
      isoOrNull(webhook.nextAttemptAt) ?? '-',
      toIso(webhook.createdAt),
      URL.parse(webhook.url)?.host ?? '-',
    ]),
  );

const attemptTable = (attempts: readonly WebhookAttempt[]): string =>
  formatTable(
    [{ title: 'ATTEMPT' }, { title: 'TOOK MS', align: 'right' }, { title: 'STATUS' }, { title: 'FAILURE' }],
    attempts.map((attempt) => [
      toIso(attempt.at),
      String(attempt.durationMs),
      attempt.httpStatus === null ? '-' : String(attempt.httpStatus),
      attempt.failure ?? '-',
    ]),
  );
