import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';

export interface Certificate {
  /** PEM. */
  cert: string;
  key: string;
  /** For whatever this one signs. */
  issuer: Issuer;
}

interface Issuer {
  name: Buffer;
  privateKey: KeyObject;
}

/** An X.509 certificate (ECDSA, P-256) of host names, signed by `issuer`, or an authority that signs itself. */
export const makeCertificate = ({
  name,
  hosts = [],
  issuer,
  notAfter = new Date('2049-12-31T00:00:00Z'),
}: {
  name: string;
  hosts?: readonly string[];
  issuer?: Issuer;
  notAfter?: Date;
}): Certificate => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const subject = sequence(set(sequence(objectId('2.5.4.3'), tagged(0x0c, Buffer.from(name)))));
  const signer = issuer ?? { name: subject, privateKey };
  const toBeSigned = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    signer.name,
    sequence(utcTime(new Date('2020-01-01T00:00:00Z')), utcTime(notAfter)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(issuer === undefined ? isAuthority : namesOf(hosts))),
  );
  const signature = sign('sha256', toBeSigned, signer.privateKey);
  const whole = sequence(toBeSigned, ecdsaWithSha256, tagged(0x03, Buffer.concat([zero, signature])));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    issuer: { name: subject, privateKey },
  };
};

const zero = Buffer.from([0]);

/** DER: a tag, the length, the content. */
const tagged = (tag: number, content: Buffer): Buffer => {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
};

const sequence = (...parts: Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts));
const set = (...parts: Buffer[]): Buffer => tagged(0x31, Buffer.concat(parts));

const objectId = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = rest.flatMap((part) => {
    const digits = [part & 0x7f];
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
    return digits;
  });
  return tagged(0x06, Buffer.from([first * 40 + second, ...bytes]));
};

const utcTime = (time: Date): Buffer => {
  const digits = time.toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`));
};

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'));

const extension = (id: string, value: Buffer): Buffer => sequence(objectId(id), tagged(0x04, value));

const isAuthority = extension('2.5.29.19', sequence(tagged(0x01, Buffer.from([0xff]))));

const namesOf = (hosts: readonly string[]): Buffer =>
  extension('2.5.29.17', sequence(...hosts.map((host) => tagged(0x82, Buffer.from(host)))));
