import { columns, text } from '../columns.ts';
import { read, write } from '../command.ts';
import { eachOf, hasRows, valuesOf } from '../statement.ts';

/** What an account set for a mounted server. */
export interface ToolSecret {
  name: string;
  /** The key that encrypts it. */
  keyId: string;
  /** Base64 of nonce, tag and ciphertext. */
  sealed: string;
}
type Owner = Record<'accountId' | 'server', string>;
const secret = columns({ name: text(), keyId: text(), sealed: text() });

/** Lists the secrets of an account for a server, in the order of their names. */
export const listToolSecrets = read({
  text: `select ${secret.list()} from tool_secrets
    where account_id = $1 and server = $2 and sealed is not null order by name`,
  values: valuesOf<Owner>('accountId', 'server'),
  read: eachOf(secret.read),
});

/** Sets a secret of an account for a server; null removes it. Returns false if `former` is given, and not stored any more. */
export const setToolSecret = write({
  text: `insert into tool_secrets (account_id, server, name, key_id, sealed) values ($1, $2, $3, $4, $5)
    on conflict (account_id, server, name) do update set key_id = excluded.key_id, sealed = excluded.sealed
      where cast($6 as text) is null or tool_secrets.sealed = $6 returning 1 as done`,
  values: valuesOf<
    Owner & Omit<ToolSecret, 'sealed'> & { sealed: string | null; former?: string | undefined }
  >(...(['accountId', 'server', 'name', 'keyId', 'sealed', 'former'] as const)),
  read: hasRows,
});
