import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import OpenAI from 'openai';
import { callTool } from './call-tool.ts';
import { receiveCallback } from './receive-callback.ts';
import { must, say, step, terminal, type Gateway } from './stage.ts';

/** Shows everything that a prepaid key buys: text in both forms, an image, an image with a webhook, a video. */
export const useGeneration = async (gateway: Gateway, assistant: Client, question: string): Promise<void> => {
  await askModels(gateway, assistant, question);
  await callFunction(gateway);
  await makeImage(assistant);
  await receiveCallback(gateway);
  await makeVideo(gateway, assistant);
};

const askModels = async (gateway: Gateway, assistant: Client, question: string): Promise<void> => {
  await step('The assistant lists its tools (MCP)', async () => {
    const { tools } = await assistant.listTools();
    must(tools.length >= 6, 'at least six tools');
    for (const tool of tools) say(`${tool.name.padEnd(24)}${tool.title ?? ''}`);
  });

  await step('Ask a question with a stream (the openai package)', async () => {
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.apiKey, maxRetries: 0 });
    const models = await openai.models.list();
    must(models.data.length > 0, 'models are listed');
    say(`> ${question}`);
    const stream = await openai.chat.completions.create({
      model: 'textmodel-3.5-flash',
      messages: [{ role: 'user', content: question }],
      stream: true,
    });
    let text = '';
    let tokens: number | undefined;
    for await (const chunk of stream) {
      const piece = chunk.choices[0]?.delta.content ?? '';
      text += piece;
      terminal.piece(piece);
      tokens = chunk.usage?.total_tokens ?? tokens;
    }
    must(text.length > 0 && tokens !== undefined, 'streamed text, and usage at the end');
    say(`\n${tokens} tokens`);
  });
};

const makeImage = async (assistant: Client): Promise<void> => {
  await step('Create an image and download it', async () => {
    const prompt = 'A quiet harbour at dawn, with fishing boats';
    const { isError, data } = await callTool(assistant, 'create_image', { model: 'imagemodel-1.0', prompt });
    must(!isError && data['status'] === 'done', 'the image job is done');
    const [image] = data['data'] as { url: string }[];
    must(image !== undefined, 'the job has an image');
    const response = await fetch(image.url);
    const bytes = Buffer.from(await response.arrayBuffer());
    must(bytes.subarray(1, 4).toString('latin1') === 'PNG', 'the result URL serves a PNG file');
    say(`${image.url} (${bytes.length} bytes)`);
  });
};

/** Makes a function call and sends its result, in the Responses form. */
const callFunction = async (gateway: Gateway): Promise<void> => {
  await step('Call a function with the Responses API (the openai package)', async () => {
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.apiKey, maxRetries: 0 });
    const tools = [
      {
        type: 'function' as const,
        name: 'followers_of',
        description: 'How many followers a profile has.',
        strict: true,
        parameters: {
          type: 'object',
          properties: { username: { type: 'string' } },
          required: ['username'],
          additionalProperties: false,
        },
      },
    ];
    const input: OpenAI.Responses.ResponseInput = [
      { role: 'user', content: 'How many followers has @harbour.coffee?' },
    ];
    const first = await openai.responses.create({
      model: 'textmodel-3.5-flash',
      input,
      tools,
      tool_choice: 'required',
    });
    const call = first.output.find((item) => item.type === 'function_call');
    must(call !== undefined, 'the response calls the function');
    say(`${call.name}(${call.arguments})`);
    const second = await openai.responses
      .stream({
        model: 'textmodel-3.5-flash',
        input: [
          ...input,
          call,
          { type: 'function_call_output', call_id: call.call_id, output: '{"followers":48200}' },
        ],
      })
      .on('response.output_text.delta', ({ delta }) => terminal.piece(delta))
      .finalResponse();
    must(second.status === 'completed' && second.output_text.length > 0, 'the streamed response is complete');
    const again = await openai.responses.retrieve(second.id);
    must(again.output_text === second.output_text, 'the response can be read again by its id');
    say(`\n${second.usage?.total_tokens ?? 0} tokens, ${second.id}`);
  });
};

const makeVideo = async (gateway: Gateway, assistant: Client): Promise<void> => {
  await step('Create a video and download it', async () => {
    const { isError, data } = await callTool(assistant, 'create_video', {
      model: 'videomodel-2.0',
      prompt: 'A quiet harbour at dawn; a fishing boat leaves',
      duration: 4,
      resolution: '480p',
    });
    must(!isError && typeof data['id'] === 'string', 'the video was started');
    const videoId = data['id'];
    let video = data;
    for (let polls = 0; video['status'] !== 'completed' && polls < 10; polls += 1) {
      must(video['status'] !== 'failed', 'the video does not fail');
      ({ data: video } = await callTool(assistant, 'get_video', { video_id: videoId, wait_ms: 30_000 }));
    }
    must(video['status'] === 'completed', 'the video is completed');
    const url = `${gateway.url}/v1/videos/${videoId}/content`;
    const authorization = `Bearer ${gateway.apiKey}`;
    const part = await fetch(url, { headers: { authorization, range: 'bytes=4-7' } });
    must(part.status === 206 && (await part.text()) === 'ftyp', 'a range of an MP4 file');
    const response = await fetch(url, { headers: { authorization } });
    const bytes = Buffer.from(await response.arrayBuffer());
    must(bytes.length === Number(response.headers.get('content-length')), 'the whole file');
    say(
      `${String(video['duration'])} s in ${String(video['resolution'])}, until ${String(video['expires_at'])}`,
    );
    say(`${url} (${bytes.length} bytes)`);
  });
};
