import { compactVerify, decodeProtectedHeader, importJWK, type JWK } from 'jose';
import { describe, expect, it } from 'vitest';
import { createDocumentSigner, didOf, newSigningKey } from '../../../src/payments/wire/signed-documents.ts';

const publicUrl = () => 'https://leads.example';

const methodOf = (document: unknown) =>
  (document as { verificationMethod: { id: string; publicKeyJwk: JWK }[] }).verificationMethod[0];

describe('the did:web of a base URL', () => {
  it.each([
    ['https://leads.example', 'did:web:leads.example'],
    ['http://127.0.0.1:8402', 'did:web:127.0.0.1%3A8402'],
    ['https://example.com/causeway/eu', 'did:web:example.com:causeway:eu'],
  ])('%s is %s', (url, did) => {
    expect(didOf(url)).toBe(did);
  });
});

describe('a signed document', () => {
  const key = newSigningKey();
  const signer = createDocumentSigner({ key, publicUrl });

  it('is verified with the key that the DID document names', async () => {
    const signed = signer.sign({ b: 'two', a: 1 });
    const method = methodOf(signer.didDocument());
    expect(decodeProtectedHeader(signed)).toEqual({ alg: 'EdDSA', kid: method?.id });
    const { payload } = await compactVerify(signed, await importJWK(method?.publicKeyJwk ?? {}));
    // RFC 8785: members in order, nothing between them.
    expect(new TextDecoder().decode(payload)).toBe('{"a":1,"b":"two"}');
  });

  it('is the same from every process that has the key, and another key makes another', () => {
    const payload = { version: 1 };
    expect(createDocumentSigner({ key, publicUrl }).sign(payload)).toBe(signer.sign(payload));
    expect(createDocumentSigner({ key: newSigningKey(), publicUrl }).sign(payload)).not.toBe(
      signer.sign(payload),
    );
  });
});

describe('the DID document', () => {
  it('lets the key assert, and holds its public half alone', () => {
    const document = createDocumentSigner({ key: newSigningKey(), publicUrl }).didDocument();
    expect(document).toMatchObject({
      id: 'did:web:leads.example',
      assertionMethod: ['did:web:leads.example#key-1'],
    });
    const jwk = methodOf(document)?.publicKeyJwk ?? {};
    expect(Object.keys(jwk).toSorted()).toEqual(['alg', 'crv', 'kty', 'use', 'x']);
  });
});

describe('a signing key that is none', () => {
  it('is refused at once', () => {
    expect(() => createDocumentSigner({ key: 'bm9uZQ==', publicUrl })).toThrow(/asn1|DECODER/i);
  });
});
