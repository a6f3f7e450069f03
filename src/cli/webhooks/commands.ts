import { Argument, Option } from 'commander';
import { getWebhook } from '../../operator/webhooks/get-webhook.ts';
import { listWebhooks } from '../../operator/webhooks/list-webhooks.ts';
import { redeliverWebhook } from '../../operator/webhooks/redeliver-webhook.ts';
import { rotateWebhookSecret } from '../../operator/webhooks/rotate-webhook-secret.ts';
import { webhookStates, type WebhookView } from '../../operator/webhooks/webhook-view.ts';
import type { WebhookState } from '../../store/store.ts';
import {
  accountArgument,
  limitOption,
  type CommandDefinition,
  type CommandGroup,
} from '../command-definition.ts';
import { exampleAccount, exampleId } from '../examples.ts';
import { formatTable } from '../format-table.ts';

const eventArgument = new Argument('<event>', 'id of the event, as "webhooks list" shows it');

const webhookTable = (webhooks: readonly WebhookView[]): string =>
  formatTable(
    {
      EVENT: 'event_id',
      STATE: 'state',
      ATTEMPTS: { right: 'attempts' },
      NEXT: 'next_attempt_at',
      CREATED: 'created_at',
      HOST: 'host',
    },
    webhooks.map((webhook) => ({ ...webhook, host: URL.parse(webhook.url)?.host })),
  );

const attemptColumns = {
  ATTEMPT: 'at',
  'TOOK MS': { right: 'duration_ms' },
  STATUS: 'http_status',
  FAILURE: 'failure',
};

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
    new Option('--state <state>', 'only those in this state').choices(webhookStates),
    limitOption(10_000, 100),
  ],
  run: async ({ operate }, { account, job, ...options }) => {
    const page = await operate(listWebhooks, { account_id: account, job_id: job, ...options });
    const { webhooks, has_more: hasMore } = page;
    return {
      json: page,
      text: webhooks.length === 0 ? 'There are no such webhooks.' : webhookTable(webhooks),
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
  run: async ({ operate }, eventId) => {
    const found = await operate(getWebhook, { event_id: eventId });
    const { webhook, attempts } = found;
    return {
      json: found,
      text: [
        webhookTable([webhook]),
        `To ${webhook.url}\nFor job ${webhook.job_id} of account ${webhook.account_id}`,
        attempts.length === 0 ? 'Nothing has been sent yet.' : formatTable(attemptColumns, attempts),
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
  run: async ({ operate }, eventId) => {
    const redelivered = await operate(redeliverWebhook, { event_id: eventId });
    const { event_id: id } = redelivered.webhook;
    return {
      json: redelivered,
      text: `${id} is due now.`,
      remark: `To see its delivery: causeway webhooks show ${id}`,
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
  run: async ({ operate }, accountId) => {
    const rotated = await operate(rotateWebhookSecret, { account_id: accountId });
    const until = rotated.previous_signs_until;
    return {
      json: rotated,
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
