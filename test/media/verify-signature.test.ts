import { expect, it } from 'vitest';
import { signatureProblem, type SignedRequest } from './verify-signature.ts';

/** The first example of AWS's page on signing with the Authorization header. */
const keys = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
};
const example: SignedRequest = {
  method: 'GET',
  target: '/test.txt',
  headers: {
    host: 'examplebucket.s3.amazonaws.com',
    range: 'bytes=0-9',
    'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    'x-amz-date': '20130524T000000Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,' +
      'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,' +
      'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  },
};

it('the bucket of the tests accepts the signature of the documented example, and no other', () => {
  expect(signatureProblem(example, keys)).toBeNull();
  expect(signatureProblem({ ...example, target: '/test.text' }, keys)).toBe('SignatureDoesNotMatch');
  expect(signatureProblem({ ...example, target: '/test.txt?uploads=' }, keys)).toBe('SignatureDoesNotMatch');
  expect(signatureProblem(example, { ...keys, secretAccessKey: 'another' })).toBe('SignatureDoesNotMatch');
  expect(signatureProblem(example, { ...keys, accessKeyId: 'another' })).toBe('InvalidAccessKeyId');
  expect(signatureProblem({ ...example, headers: {} }, keys)).toBe('AccessDenied');
});
