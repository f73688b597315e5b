// A TCP proxy in front of a server that holds its answers back, so that a client's timeout meets a real server.
import { once } from 'node:events';
import net from 'node:net';

export async function startSlowProxy(serverUrl, delayMs) {
  const { hostname, port } = new URL(serverUrl);
  const proxy = net.createServer(client => {
    const server = net.connect(Number(port), hostname);
    client.pipe(server);
    server.on('data', bytes => setTimeout(() => client.writable && client.write(bytes), delayMs));
    client.on('error', () => {}).on('close', () => server.destroy());
    server.on('error', () => client.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return { url: `http://127.0.0.1:${proxy.address().port}`, close: () => proxy.close() };
}
