import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { sha256 } from '../kit/ids.ts';
import type { Store, ToolSecret } from '../store/store.ts';

/** An account that uses a mounted server. */
export type Owner = Record<'accountId' | 'server', string>;
type Place = Owner & { name: string };

const algorithm = 'aes-256-gcm';
const nonceBytes = 12;
const bodyAt = nonceBytes + 16;

export type SecretVault = ReturnType<typeof createSecretVault>;

/**
 * Keeps what accounts set for mounted servers: encrypted, and bound to account, server and name, so that no row can stand
 * in the place of another one. `keys`: in hexadecimal; the first one encrypts.
 */
export const createSecretVault = (
  store: Pick<Store, 'listToolSecrets' | 'setToolSecret'>,
  keys: readonly string[],
) => {
  const known = new Map(keys.map((key) => [sha256(key).slice(0, 8), Buffer.from(key, 'hex')]));
  const keyOf = (id: string): Buffer => known.get(id) ?? Buffer.alloc(0);
  const [current = ''] = known.keys();
  return {
    /** Lists those of these secrets that an account has set, as they are stored. One whose key is gone is not set. */
    list: async (owner: Owner, names: readonly string[]): Promise<ToolSecret[]> =>
      (await store.listToolSecrets(owner)).filter(
        ({ name, keyId }) => names.includes(name) && known.has(keyId),
      ),
    /** Returns the value of a secret. Throws Error if its row was changed. */
    open: (owner: Owner, { name, keyId, sealed }: ToolSecret): string =>
      open(sealed, keyOf(keyId), { ...owner, name }),
    /** Sets a secret; null removes it. Returns it as it is stored; null: `former` is given, and not stored any more. */
    set: async (place: Place, value: string | null, former?: Pick<ToolSecret, 'sealed'>) => {
      const sealed = value === null ? null : seal(value, keyOf(current), place);
      const isSet = await store.setToolSecret({ ...place, keyId: current, sealed, former: former?.sealed });
      return isSet ? { sealed: sealed ?? '' } : null;
    },
  };
};

const toBytes = ({ accountId, server, name }: Place): Buffer =>
  Buffer.from(JSON.stringify([accountId, server, name]));

const seal = (value: string, key: Buffer, place: Place): string => {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(toBytes(place));
  const body = [cipher.update(value, 'utf8'), cipher.final()];
  return Buffer.concat([nonce, cipher.getAuthTag(), ...body]).toString('base64');
};

const open = (sealed: string, key: Buffer, place: Place): string => {
  const bytes = Buffer.from(sealed, 'base64');
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), { authTagLength: 16 });
  decipher.setAAD(toBytes(place)).setAuthTag(bytes.subarray(nonceBytes, bodyAt));
  return Buffer.concat([decipher.update(bytes.subarray(bodyAt)), decipher.final()]).toString('utf8');
};
