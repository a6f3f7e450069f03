import type { CommandInput } from '../commands.ts';
import type { WebhookSecrets } from '../store.ts';
import { firstOf, type Statement } from './statement.ts';

interface SecretsRow {
  webhook_secret: string;
  webhook_secret_previous: string | null;
  webhook_previous_until: bigint | null;
}

const secretColumns = 'webhook_secret, webhook_secret_previous, webhook_previous_until';

const toSecrets = ({
  webhook_secret: current,
  webhook_secret_previous: secret,
  webhook_previous_until: until,
}: SecretsRow): WebhookSecrets => ({
  current,
  previous: secret === null || until === null ? null : { secret, until: Number(until) },
});

export const ensureWebhookSecret: Statement<
  CommandInput<'ensureWebhookSecret'>,
  SecretsRow,
  WebhookSecrets | null
> = {
  name: 'ensure_webhook_secret',
  text: () => `update accounts set webhook_secret = coalesce(webhook_secret, $2) where id = $1
    returning ${secretColumns}`,
  values: ({ accountId, secret }) => [accountId, secret],
  read: firstOf(toSecrets),
};

/** A repeated call with the same secret changes nothing, so a repetition does not lose the previous secret. */
export const rotateWebhookSecret: Statement<
  CommandInput<'rotateWebhookSecret'>,
  SecretsRow,
  WebhookSecrets | null
> = {
  name: 'rotate_webhook_secret',
  text: () => `update accounts set
      webhook_secret_previous =
        case when webhook_secret = $2 then webhook_secret_previous else webhook_secret end,
      webhook_previous_until = case
        when webhook_secret = $2 then webhook_previous_until
        when webhook_secret is not null then cast($3 as bigint) end,
      webhook_secret = $2
    where id = $1 returning ${secretColumns}`,
  values: ({ accountId, secret, previousUntil }) => [accountId, secret, previousUntil],
  read: firstOf(toSecrets),
};

export const getWebhookSecrets: Statement<string, SecretsRow, WebhookSecrets | null> = {
  name: 'get_webhook_secrets',
  text: () => `select ${secretColumns} from accounts where id = $1 and webhook_secret is not null`,
  values: (accountId) => [accountId],
  read: firstOf(toSecrets),
};
